// hardware

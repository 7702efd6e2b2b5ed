// predict

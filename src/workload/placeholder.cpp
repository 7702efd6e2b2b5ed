// workload

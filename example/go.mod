module example.org/mine

go 1.26.0

require github.com/mlperf-go/mlperf-go v0.0.0

require (
	github.com/NVIDIA/go-nvml v0.13.2-0 // indirect
	github.com/klauspost/compress v1.20.3 // indirect
	golang.org/x/sys v0.49.0 // indirect
	gopkg.in/yaml.v3 v3.0.1 // indirect
)

replace github.com/mlperf-go/mlperf-go => ../

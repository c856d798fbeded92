// Package serve runs inference servers in a cluster: a Deployment and a Service from the server file that
// `mlperf-go server up` reads on a machine.
//
//	s := objects.Server{Name: "vllm", Namespace: "serving", Image: "vllm/vllm-openai:v0.11.0", ...}
//	notes, err := serve.FromConfig(&s, config, serve.Overrides{})
//	err = serve.Up(ctx, c, serve.Options{Server: s, Wait: time.Hour})
//	err = serve.Down(ctx, c, serve.Named{Namespace: "serving", Name: "vllm"}, time.Minute)
//
// Up returns when every replica answers its health path, or with an error that states why a pod cannot become ready.
// No object contains a secret. The package prints nothing and reads no flags.
package serve

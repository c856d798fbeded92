// Package identify finds out which kind of inference server answers at an endpoint.
//
//	server, err := identify.Ask(ctx, config, endpoint)
//	if err != nil { ... }
//	fmt.Println(server.Backends, server.Signs)
//
// It asks for routes that only some servers have. An answer is a Sign: the backends to which it points. The kinds that
// all signs allow remain, so that answers which contradict each other leave none. The package must not import run or
// any package above it.
package identify

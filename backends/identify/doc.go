// Package identify detects which kind of inference server answers at an endpoint.
//
//	server, err := identify.Ask(ctx, config, endpoint)
//	if err != nil { ... }
//	fmt.Println(server.Backends, server.Signs)
//
// It requests routes that only some servers have. An answer is a Sign, which lists the backends that answer in this
// way. The result has the kinds that all signs allow, so contradictory answers leave no kind. The package must not
// import run or any package above it.
package identify

// Package discover chooses the backend of a plan: the user's, compared with what the servers show of themselves, or the
// backend that the servers show.
//
//	choice, err := discover.Backend(ctx, p, nil)
//	if err != nil { ... }
//	fmt.Println(choice.Why)
//
// It asks the endpoints, so that all input should be checked first. The package must not import run or any package
// above it.
package discover

// Package discover chooses the backend of a plan: the user's choice, compared with what the servers report, or the
// detected one.
//
//	choice, err := discover.Backend(ctx, p, nil)
//	if err != nil { ... }
//	fmt.Println(choice.Why)
//
// It sends requests to the endpoints, so all input should be checked before. The package must not import run or any
// package above it.
package discover

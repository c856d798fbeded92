// Package batch sends several samples in one request: the strategy batch of Offline.
//
// A Backend wraps a backend of single requests. It joins the requests of samples
// into one, and assigns the parts of the answer to the samples by the index that each part carries. An answer with
// parts that are missing, unknown or duplicate fails the whole batch (batch_mismatch).
//
// It must not import a client or a wire protocol.
package batch

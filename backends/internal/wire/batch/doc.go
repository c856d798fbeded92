// Package batch sends several samples in one request: the strategy batch of Offline.
//
// It stands between the system under test and a backend that asks one request after another. It owns how samples become
// a batch, how the request of a batch is made of those of its samples, and how an answer's parts go back to the
// samples: by the index that each part carries. An answer with parts that are missing, that nobody asked for, or that
// come twice fails its whole batch (batch_mismatch).
//
// In come a loadgen.Source and the requests of single samples, out goes one outcome for each sample.
//
// It must not import any client or wire protocol.
package batch

// Package sut is the system under test: it joins LoadGen's queries with a backend and completes each exactly once.
//
// In come the rings of a loadgen.SUT, a backend per shard and a ledger; out go first tokens and answers to LoadGen, and
// what happened to each sample to the ledger. A failed sample is completed too, empty and with 0 tokens, because
// LoadGen would wait for it for ever; no token is ever invented.
//
// One goroutine per shard runs the backend; New makes them, Start starts them, Wait waits for them. A watchdog ends a
// test whose last answers never come.
//
// The package knows no wire protocol, no file and no setting of LoadGen; it must not import run, qsl, report or cmd.
package sut

// Package sut is the system under test. It passes LoadGen's queries to a backend and completes each query exactly once.
//
// Each shard has a ring of queries and a backend. A SUT reports first tokens and answers to LoadGen and records each
// sample in a ledger. A failed sample is completed too, empty and with 0 tokens, because LoadGen would wait for it
// forever; no token is ever invented.
//
// One goroutine per shard runs the backend; New makes them, Start starts them, Wait waits for them. A watchdog ends a
// test whose last answers never arrive.
//
// The package contains no wire protocol and reads neither files nor LoadGen's settings. It must not import run, qsl,
// report or cmd.
package sut

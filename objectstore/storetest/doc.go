// Package storetest is an object store for tests. It speaks the part of the protocols of S3 and Google Cloud Storage
// that an upload needs, and verifies every request from its bytes on the wire, with code of its own.
//
//	store := storetest.Start(t, storetest.Keys{ID: "id", Secret: "secret", Region: "eu-west-3"})
//	... AWS_ENDPOINT_URL=store.URL, AWS_CA_BUNDLE=store.CAFile ...
//	store.Object("bucket/path/run.json")
//
// Fault answers chosen requests in the test's own way. Only tests import the package.
package storetest

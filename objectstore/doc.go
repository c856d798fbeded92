// Package objectstore sends the folders of finished runs to S3, to stores that speak its protocol, and to Google Cloud
// Storage.
//
//	to, err := objectstore.Parse("s3://bucket/path")
//	store, err := objectstore.Open(to, objectstore.Options{Lookup: os.LookupEnv})
//	sent, err := store.Upload(ctx, folder, "chat-20261127T193200.000Z")
//
// Requests carry Signature Version 4 of AWS, or the bearer token of Google. The keys come from variables of the
// environment (docs/reference/upload.md), and no error, log or file contains them. Redirects are never followed, so no
// other host receives a request. Files that the store has already, with the same SHA-256, are not sent again, so a
// failed upload can be repeated.
//
// The package prints nothing and reads no environment by itself. It uses the standard library alone: the few routes do
// not need a provider's client.
package objectstore

// Package mlflow sends finished runs to a tracking server of MLflow.
//
//	run, err := mlflow.Read(folder)       // of a test, a workload or a campaign
//	server, err := mlflow.NewServer("http://host:5000", mlflow.Credentials{}, client)
//	sent, err := server.Upload(ctx, "experiment", run)
//
// The settings of a run become parameters, its figures metrics, and its folder artifacts; the tests of a campaign are
// runs below the campaign's. docs/reference/mlflow.md has the names.
//
// A run is recognised by a digest of its record, so that it is there once however often it is sent. A run that could
// not be sent whole is marked FAILED and sent anew the next time.
//
// MLflow has no client for Go; the few routes of its REST interface need none. Answers of the server are bounded, and
// redirects are not followed, because requests may carry a password. The package prints nothing.
package mlflow

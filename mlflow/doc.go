// Package mlflow sends finished runs to a tracking server of MLflow.
//
//	run, err := mlflow.Read(folder)       // of a test, a workload or a campaign
//	server, err := mlflow.NewServer("http://host:5000", mlflow.Credentials{}, client)
//	sent, err := server.Upload(ctx, "experiment", run)
//
// The settings of a run become parameters, its figures metrics, and its folder artifacts; the tests of a campaign are
// runs below the campaign's. docs/reference/mlflow.md has the names.
//
// A digest of the record identifies a run, so the server has it only once even if it is sent again. If a run could
// not be sent completely, it is marked FAILED and sent again the next time.
//
// MLflow has no client for Go, so the package uses the few necessary routes of its REST interface. Answers of the
// server are limited in size, and redirects are not followed, because requests may carry a password. The package
// prints nothing.
package mlflow

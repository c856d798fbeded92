// Package wirecase reads the recorded and composed answers of real servers: each case is a request, the reply to it as
// bytes, and what the server meant where that is written beside it.
//
// In come the folders golden/wire (a folder a case) and golden/wire-real (a file a case), out go Cases of one form.
// Only tests import it.
//
// It must not import any protocol or client.
package wirecase

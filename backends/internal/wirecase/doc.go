// Package wirecase reads recorded and composed replies of real servers. A Case is a request, the bytes of the reply
// and, if recorded, the required result of reading it.
//
// All reads golden/wire (one folder per case) and golden/wire-real (one file per case). Only tests import the package.
//
// It must not import a protocol or a client.
package wirecase

// Package treetest lists the files of a submission tree for tests. Only tests import the package.
//
// It must not import another package of submission.
package treetest

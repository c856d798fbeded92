// Package kubetest contains what the tests of the launcher share: the program, its image and a simulated server.
package kubetest

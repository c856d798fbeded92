// Package encode appends the values of request bodies as compact JSON: texts, token ids, numbers. It rejects values
// that must not reach a server: ids outside the vocabulary, and numbers that JSON does not have.
//
// It must not import a driver or an HTTP client.
package encode

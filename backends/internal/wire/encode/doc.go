// Package encode appends the values of request bodies as compact JSON: texts, token ids, numbers.
//
// In come values of a sample and its sampling parameters, out go bytes behind those that are there. It checks what must
// not reach a server: ids outside the vocabulary and numbers that JSON does not have.
//
// It must not import any protocol or HTTP client.
package encode

// Package pack packs a submission tree into the file to submit.
//
// Pack writes a gzip-compressed tar of the divisions, with the organisers' names and SHA-1 file, and a list of every
// file's SHA-256. The same tree yields the same bytes. With a password, the file is encrypted like the organisers'
// script does (AES-256 in the format of `openssl enc -aes256`). Pack reads the tarball back and compares every file.
//
// Pack refuses secrets in files, hidden files, links, and files above the organisers' size limit. The error, a Refusal,
// lists the files, but never repeats a secret.
//
// The package does not check whether the tree is valid (see submission/check), prints nothing and must not import run
// or cmd.
package pack

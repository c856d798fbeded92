// Package pack puts a submission tree into the one file that is handed in.
//
// It owns the form of that file: a gzip'd tar of the divisions, the same bytes for the same tree, with the organisers'
// names and their SHA-1 file, and where a password is given their encryption (AES-256 as `openssl enc -aes256` writes
// it). In comes the root of a checked tree; out go the tarball, its checksums and a list of every file's SHA-256, and
// all of it is read back and compared before it counts.
//
// What must not leave the house is refused by name: secrets in files, hidden files, links, files above the organisers'
// size. A secret's text is never repeated.
//
// Whether the tree is valid is for check to say. The package prints nothing and must not import run or cmd.
package pack

package foreign

import (
	"bytes"
	"slices"
	"strings"
)

// heads lists the first bytes of files that cannot be data sets, with what the file is and a remedy.
var heads = []struct{ begins, what, remedy string }{
	{"PARE", "an encrypted Parquet file", "write it without encryption"},
	{"PK\x03\x04", "a zip archive", "unpack it"},
	{"\xff\xfe", "UTF-16 text", "write the file again in UTF-8"},
	{"\xfe\xff", "UTF-16 text", "write the file again in UTF-8"},
	{"version https://git-lfs", "a Git LFS pointer, not the file itself", "fetch the file with git lfs pull"},
	{"<", "HTML or XML", "check where the file was downloaded from"},
	{"\x1f\x8b", "gzip data", "unpack the file"},
	{"\x28\xb5\x2f\xfd", "zstd data", "unpack the file"},
}

// Kind describes a file with these first 24 bytes if it cannot be a data set, and what to do about it. It returns empty
// texts if the file may be a data set.
func Kind(head []byte) (what, remedy string) {
	i := slices.IndexFunc(heads, func(h struct{ begins, what, remedy string }) bool {
		return bytes.HasPrefix(head, []byte(h.begins))
	})
	if i < 0 {
		return "", ""
	}
	return heads[i].what, heads[i].remedy
}

// pages lists the beginnings of web pages, in lower case.
var pages = []string{"<!doctype", "<html", "<head", "<?xml", "<title", "<body"}

// TextKind is like Kind for text files. Text data may begin with < or PARE, but not like a web page.
func TextKind(head []byte) (what, remedy string) {
	head = bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\ufeff")), " \t\r\n")
	isPage := func(begin string) bool { return strings.HasPrefix(strings.ToLower(string(head)), begin) }
	if bytes.HasPrefix(head, []byte("PARE")) || bytes.HasPrefix(head, []byte("<")) && !slices.ContainsFunc(pages, isPage) {
		return "", ""
	}
	return Kind(head)
}

package objectstore

import (
	"cmp"
	"context"
	"crypto/md5" // Google checks no other sum
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/internal/crash"
	"github.com/mlperf-go/mlperf-go/internal/foreign"
	"github.com/mlperf-go/mlperf-go/internal/ordering"
)

// RecordName is the file of a run's folder that records its upload. The store gets it last, so that its presence there
// means that the upload is complete.
const RecordName = "upload.json"

// Bounds of an upload.
const (
	maxFiles   = 10_000
	maxFile    = 5 << 30 // bytes; both providers require an upload in parts above it
	concurrent = 4
)

// emptySum is the SHA-256 of nothing.
const emptySum = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

// Sent is an upload, and upload.json.
type Sent struct {
	URL      string    `json:"url"`  // of the folder in the store
	Host     string    `json:"host"` // that received it
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished"`
	Files    []*File   `json:"files"`
	Bytes    int64     `json:"bytes"`    // of all files
	Kept     int       `json:"kept"`     // number of files that were there already
	Verified int       `json:"verified"` // number of files whose size and SHA-256 the store confirmed
	Notes    []string  `json:"notes,omitempty"`
}

// File is a file of an upload.
type File struct {
	Name   string `json:"name"` // in the folder, with slashes
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`

	md5            string // in base64
	kept, verified bool
}

// Upload sends the regular files of a folder to the place name below the destination, and verifies them. It writes
// upload.json into the folder at the end. Hidden files and links are left out.
func (s *Store) Upload(ctx context.Context, folder, name string) (*Sent, error) {
	place := strings.Trim(s.Path+"/"+name, "/")
	if err := checkKey(place); err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(filepath.Clean(folder))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	sent := &Sent{URL: s.Scheme + "://" + s.Bucket + "/" + place, Host: s.at.host, Started: time.Now().UTC()}
	if sent.Files, err = list(root); err != nil {
		return nil, fmt.Errorf("the files of %s: %w", folder, err)
	}
	u := &upload{Store: s, root: root, place: place}
	if err := u.all(ctx, sent.Files); err != nil {
		return nil, err
	}
	for _, f := range sent.Files {
		sent.Bytes += f.Bytes
		if f.kept {
			sent.Kept++
		}
		if f.verified {
			sent.Verified++
		}
	}
	if missing := len(sent.Files) - sent.Verified; missing > 0 {
		sent.Notes = append(sent.Notes, fmt.Sprintf("the store does not show objects to these keys, so %d of %d files "+
			"were not verified after they were sent", missing, len(sent.Files)))
	}
	sent.Finished = time.Now().UTC()
	if err := s.access.WriteJSON(filepath.Join(folder, RecordName), sent); err != nil {
		return nil, err
	}
	return sent, u.file(ctx, &File{Name: RecordName})
}

// list returns the files of a folder, the smallest first: a mistake in the keys costs one small request.
func list(root *os.Root) (files []*File, err error) {
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path == "." || path == RecordName:
			return nil
		case strings.HasPrefix(entry.Name(), ".") && entry.IsDir():
			return fs.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), "."):
			return nil
		case len(files) == maxFiles:
			return fmt.Errorf("there are more than %d", maxFiles)
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Size() > maxFile {
			return fmt.Errorf("%s has %d bytes, and files above 5 GiB are not sent: copy the folder with the provider's own "+
				"tool, such as `aws s3 cp --recursive`", foreign.Line(path, quoteBytes), info.Size())
		}
		files = append(files, &File{Name: path, Bytes: info.Size()})
		return nil
	})
	if err == nil && len(files) == 0 {
		err = errors.New("the folder has no file to send")
	}
	ordering.Sort(files, func(a, b *File) int {
		return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return files, err
}

// upload is one in progress.
type upload struct {
	*Store
	root  *os.Root
	place string
}

// all sends files, several at a time after the first. The first error ends it.
func (u *upload) all(ctx context.Context, files []*File) error {
	if err := u.file(ctx, files[0]); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	next := make(chan *File)
	var workers sync.WaitGroup
	for range min(concurrent, len(files)) {
		workers.Add(1)
		go func() {
			defer crash.Catch()
			defer workers.Done()
			for f := range next {
				if err := u.file(ctx, f); err != nil {
					stop(err)
					return
				}
			}
		}()
	}
	for _, f := range files[1:] {
		select {
		case next <- f:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

// file sends a file unless the store has it, and verifies it.
func (u *upload) file(ctx context.Context, f *File) error {
	file, err := atomicfile.OpenIn(u.root, f.Name)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := f.sum(file, u.Scheme == Google); err != nil {
		return fmt.Errorf("%s: %w", foreign.Line(f.Name, quoteBytes), err)
	}
	key := u.place + "/" + f.Name
	if err := checkKey(key); err != nil {
		return err
	}
	err = u.send(ctx, key, file, f)
	if err != nil && ctx.Err() == nil {
		err = fmt.Errorf("%s: %w", foreign.Line(f.Name, quoteBytes), err)
	}
	return err
}

func (u *upload) send(ctx context.Context, key string, file *os.File, f *File) error {
	has, _, err := u.has(ctx, key, f)
	if f.kept, f.verified = has, has; has || err != nil {
		return err
	}
	err = u.repeat(ctx, func(ctx context.Context) error {
		_, err := u.request(ctx, http.MethodPut, key, io.NewSectionReader(file, 0, f.Bytes), f)
		return err
	})
	if err != nil {
		return err
	}
	has, readable, err := u.has(ctx, key, f)
	if f.verified = has; err == nil && !has && readable {
		err = errors.New("the store accepted it, and then returned another size or SHA-256 for it, or none")
	}
	return err
}

// has reports whether the store has a file. readable is false if it does not answer that question to these keys.
func (u *upload) has(ctx context.Context, key string, f *File) (has, readable bool, err error) {
	var answer http.Header
	err = u.repeat(ctx, func(ctx context.Context) (err error) {
		answer, err = u.request(ctx, http.MethodHead, key, nil, nil)
		return err
	})
	r, refused := errors.AsType[*refusal](err)
	switch {
	case refused && r.status == http.StatusNotFound:
		return false, true, nil
	case refused && !r.passes(): // such as 403, also for an object that is absent; these answers have no reason
		return false, false, nil
	case err != nil:
		return false, true, err
	}
	has = answer.Get("Content-Length") == strconv.FormatInt(f.Bytes, 10) && answer.Get(u.sumField()) == f.SHA256
	return has, true, nil
}

// sum computes the size and the sums of a file; weak: its MD5 too.
func (f *File) sum(from io.Reader, weak bool) (err error) {
	strong, second := sha256.New(), md5.New()
	to := io.Writer(strong)
	if weak {
		to = io.MultiWriter(strong, second)
	}
	f.Bytes, err = io.Copy(to, io.LimitReader(from, maxFile))
	f.SHA256 = hex.EncodeToString(strong.Sum(nil))
	f.md5 = base64.StdEncoding.EncodeToString(second.Sum(nil))
	return err
}

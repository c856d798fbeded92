package tree

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/mlperf-go/mlperf-go/internal/atomicfile"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/record"
	"github.com/mlperf-go/mlperf-go/submission/treefs"
)

// campaignFolder is the folder that a tree is built from. No link in it is followed.
type campaignFolder struct {
	root *os.Root
	path string
}

// folders returns the sorted names of the folders in one of the campaign's folders, without hidden ones.
func (c campaignFolder) folders(folder string) ([]string, error) {
	entries, err := treefs.Entries(c.root, folder)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// maxText limits the size of a file that is read whole, such as the scores of every sample of a large data set.
const maxText = 1 << 30

// read returns the content of a file in a test's folder.
func (c campaignFolder) read(t *test, name string) ([]byte, error) {
	f, err := atomicfile.OpenIn(c.root, filepath.Join(t.where(), name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxText+1))
	if err == nil && len(text) > maxText {
		err = fmt.Errorf("%s has more than %d GiB", name, maxText>>30)
	}
	return text, err
}

// framework returns name and version of the server, as recorded by the preflight, or "".
func (c campaignFolder) framework(t *test) string {
	text, err := c.read(t, record.PreflightName)
	if err != nil {
		return ""
	}
	var p run.Preflight
	if err := json.Unmarshal(text, &p); err != nil || len(p.Endpoints) == 0 {
		return ""
	}
	e := p.Endpoints[0]
	if e == nil || e.Server == "" || e.Version == "" {
		return ""
	}
	return e.Server + " " + e.Version
}

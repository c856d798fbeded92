package needs

import (
	"context"
	"fmt"
	"os"

	"github.com/mlperf-go/mlperf-go/metrics/hostinfo"
	"github.com/mlperf-go/mlperf-go/models"
	"github.com/mlperf-go/mlperf-go/run"
	"github.com/mlperf-go/mlperf-go/run/exit"
)

// Sizes in the logs. A sample has about 60 bytes in the request log and 75 in LoadGen's detail log. A token of an
// answer has eight hexadecimal digits in the accuracy log, of which a campaign keeps two copies (measured with 512
// samples of llama3.1-8b).
const (
	bytesPerSample = 300
	bytesPerToken  = 2 * 8
	spareBytes     = 256 << 20 // for everything else, and as a margin
)

// diskBytes returns how much the tests may write at most.
func (s *Survey) diskBytes() uint64 {
	total := uint64(spareBytes)
	for _, p := range s.Tests {
		samples := uint64(max(LoadOf(p).Samples, 0))
		total += samples * bytesPerSample
		if p.Mode == models.Accuracy {
			total += samples * bytesPerToken * uint64(max(p.Config.Int("max-tokens"), 0))
		}
		// what exceeds the memory for requests goes to a file of the run, which is removed at its end
		if info, err := os.Stat(p.Config.String("dataset")); err == nil && info.Size() > p.Config.Bytes("request-memory") {
			total = max(total, uint64(info.Size())+spareBytes)
		}
	}
	return total
}

func (s *Survey) disk(context.Context) Check {
	free, known, err := hostinfo.FreeBytes(s.Folder)
	if err != nil {
		return missing(exit.Environment(exit.CodeDisk, "Choose another --output-dir", "%w", err))
	}
	need := s.diskBytes()
	if !known {
		return unknown("the file system reports no size; the logs need up to " + bytesText(need))
	}
	text := fmt.Sprintf("%s free; the logs need up to %s", bytesText(free), bytesText(need))
	if free < need {
		return missing(exit.Environment(exit.CodeDiskFull, "Free some space, or choose another --output-dir",
			"the disk of %s has "+
				"only %s", s.Folder, text))
	}
	return found(text)
}

// machineFiles is the check of open files before the number of connections is known.
func (s *Survey) machineFiles() Check {
	limit, err := hostinfo.RaiseNoFile(0)
	if err != nil {
		return unknown(err.Error())
	}
	return found(fmt.Sprintf("%d allowed", limit.Now))
}

func (s *Survey) memory(context.Context) Check {
	for _, p := range s.Tests {
		if err := run.CheckRoom(run.FromPlan(p)); err != nil {
			return missing(err)
		}
	}
	return found("no limit of this process is too low")
}

// bytesText returns a size with a unit.
func bytesText(n uint64) string {
	for _, u := range []struct {
		size uint64
		name string
	}{{1 << 40, "TiB"}, {1 << 30, "GiB"}} {
		if n >= u.size {
			return fmt.Sprintf("%.1f %s", float64(n)/float64(u.size), u.name)
		}
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

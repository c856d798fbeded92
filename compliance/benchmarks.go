package compliance

// The tests of this package.
const (
	Test01 = "TEST01"
	Test04 = "TEST04"
	Test06 = "TEST06"
	Test07 = "TEST07"
	Test08 = "TEST08"
	Test09 = "TEST09"
)

// lengthBounds are the bounds of TEST09: the reference's mean number of output tokens minus and plus 10 %
// (docs/reference/audits.md#test09).
type lengthBounds struct {
	queries  int
	unique   bool
	min, max float64
}

var test09 = map[string]lengthBounds{
	"gpt-oss-120b": {queries: 6396, unique: true, min: 1150.38, max: 1406.02},
	"e2e-rag-qna":  {queries: 824, min: 246.43, max: 301.19},
}

// fullAccuracy is the size of TEST07's data set and the required score (docs/reference/audits.md#test07).
type fullAccuracy struct {
	samples   int
	threshold float64 // required score in percent
}

var test07 = map[string]fullAccuracy{
	"gpt-oss-120b": {samples: 990, threshold: 60.698},
}

// sampled01 is the number of answers that TEST01 logs, by benchmark name without accuracy target
// (docs/reference/audits.md#test01).
var sampled01 = map[string]int{
	"bert": 4096, "dlrm": 4096, "dlrm-v2": 4096, "gptj": 4096, "resnet": 4096, "rgat": 4096, "rnnt": 4096, "whisper": 4096,
	"pointpainting": 256, "retinanet": 256, "stable-diffusion-xl": 128, "3d-unet": 64, "yolo": 64, "wan-2.2-t2v-a14b": 50,
}

package arch

// Layers lists the packages of the repository from the top layer down. A package imports packages of lower layers only;
// the subpackages of one entry may import each other. A new top-level package needs an entry here. The diagram in
// docs/explanation is drawn from this table.
var Layers = [][]string{
	{"cmd"},
	{"compare", "mlflow"},
	{"submission"},
	{"tune", "sweep", "experiment", "workload"},
	{"compliance", "report", "peers", "objectstore"},
	{"run"},
	{"sut", "qsl", "servers", "accuracy"},
	{"backends"},
	{"ledger", "datasets"},
	{"rounds"},
	{"models"},
	{"internal/config", "internal/mllog", "internal/statefile", "internal/schedule", "internal/earlystop", "tokenizer",
		"metrics", "loadgen-cgo"},
	{"internal/parcel", "internal/worker"},
	{"internal/plot", "internal/spill", "internal/atomicfile", "internal/sandbox", "internal/pyrepr", "internal/foreign",
		"internal/httpclient", "internal/alarm", "internal/secret", "internal/results", "internal/plural",
		"internal/quote"},
	{"internal/earlylimit", "internal/crash", "internal/nvtx", "internal/ordering", "internal/realtime",
		"configs/profiles"},
}

// Apart maps each package outside the layers to the packages that it may import.
var Apart = map[string][]string{
	"sim":                {"datasets", "models", "tokenizer", "internal/crash"},
	"schema":             {},
	"internal/faulttest": {},
	"internal/golden":    {},
	"internal/race":      {},
	"internal/simtest":   {},
	"scripts":            {"internal/arch"},
	"internal/arch":      {},
}

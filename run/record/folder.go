package record

// The names in a run's folder (docs/reference/runs.md#files).
const (
	FileName      = "run.json"
	ConfigName    = "config.yaml"
	UserConfName  = "user.conf"
	PreflightName = "preflight.json"
	LogFolder     = "mlperf"
	RequestsName  = "requests.jsonl.zst"
	FailuresName  = "failures.jsonl"
	SummaryName   = "summary.txt"  // the result as it is printed; written after the record, which has no hash of it
	DatasetName   = "dataset.json" // a synthetic data set
	AuditName     = "audit.config" // copy of --audit-config
	// ReserveName is a file that holds some disk space while the test runs, so that run.json fits on a disk that fills up.
	ReserveName   = ".reserve"
	MetricsFolder = "metrics"
	MetricsName   = MetricsFolder + "/server.jsonl.zst" // the servers' metrics pages over time, with --metrics
	// EnvironmentFolder describes the machine of the client, and the servers' machines as far as the servers report
	// them.
	EnvironmentFolder = "environment"
	MachineName       = EnvironmentFolder + "/machine.json"
	ServersName       = EnvironmentFolder + "/servers.json"
	// AccuracyTextName is the file with the score that the submission checker reads; AccuracyName is the whole
	// score.
	AccuracyTextName = "accuracy.txt"
	AccuracyName     = "accuracy.json"
	// ReportName is the page that `mlperf-go report` writes into the run's folder. ReportMark is in its head, so that the
	// next run into the folder does not remove a page of another program.
	ReportName = "report.html"
	ReportMark = `<meta name="generator" content="mlperf-go report">`
)

// Entries are the names that identify a folder as that of a run.
var Entries = []string{FileName, ConfigName, UserConfName, PreflightName, LogFolder, RequestsName, FailuresName,
	DatasetName, AuditName, AccuracyTextName, AccuracyName, ReserveName, MetricsFolder, SummaryName, EnvironmentFolder}

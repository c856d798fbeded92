package record

// Code names the rule that a run broke, as reasons[].code of run.json.
type Code string

// The codes of causes.
const (
	CodeAccuracyBelowTarget Code = "accuracy_below_target"
	CodeClientLag           Code = "client_lag"
	CodeClockStep           Code = "clock_step"
	CodeComplianceFailed    Code = "compliance_failed"
	CodeEmptyOutputs        Code = "empty_outputs"
	CodeFailedSamples       Code = "failed_samples"
	CodeInterrupted         Code = "interrupted"
	CodeLocalPorts          Code = "local_ports"
	CodeLoadGenErrors       Code = "loadgen_errors"
	CodeLoadGenInvalid      Code = "loadgen_invalid"
	CodeLogIncomplete       Code = "log_incomplete"
	CodeMisreported         Code = "misreported"
	CodeMissingFirstTokens  Code = "missing_first_tokens"
	CodeNotScored           Code = "not_scored" // a later score may replace it
	CodeOpenFiles           Code = "open_files"
	CodeScenarioLimit       Code = "scenario_limit"
	CodeServerDied          Code = "server_died"
	CodeStrayAuditConfig    Code = "stray_audit_config"
	CodeTokenMismatch       Code = "token_mismatch"
	CodeUnaskedAnswers      Code = "unasked_answers"
	CodeWrongModel          Code = "wrong_model"
)

// PrefixCache is what happened to a server's prefix cache before the timed phase.
type PrefixCache string

// The values of endpoints[].prefix_cache; empty: the server was not asked.
const (
	CacheEmptied    PrefixCache = "emptied"
	CacheNotOffered PrefixCache = "not_offered"
	CacheFailed     PrefixCache = "failed"
)

package contract

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// variables are those of llm-d-benchmark's run, of both generations (commits eb44f820 and 8bc9f1dd), without the prefix
// LLMDBENCH_.
var variables = strings.Fields(`DEPLOY_SCENARIO DEPLOY_MODEL_LIST MODEL VLLM_COMMON_NAMESPACE HARNESS_NAMESPACE NAMESPACE
	DEPLOY_METHODS METHODS HARNESS_PROFILE_HARNESS_LIST HARNESS_NAME HARNESS HARNESS_EXPERIMENT_PROFILE WORKLOAD
	HARNESS_EXPERIMENT_PROFILE_OVERRIDES OVERRIDES HARNESS_EXPERIMENT_TREATMENTS EXPERIMENTS HARNESS_EXECUTABLE
	HARNESS_CONDA_ENV_NAME HARNESS_WAIT_TIMEOUT WAIT_TIMEOUT HARNESS_CPU_NR HARNESS_CPU_MEM HARNESS_SERVICE_ACCOUNT
	HARNESS_PVC_NAME HARNESS_PVC_SIZE HARNESS_CONTAINER_IMAGE HARNESS_SKIP_RUN HARNESS_DEBUG
	RUN_EXPERIMENT_ANALYZE_LOCALLY RUN_EXPERIMENT_ID RUN_EXPERIMENT_RESULTS_DIR_PREFIX CONTROL_WORK_DIR
	CONTROL_WAIT_TIMEOUT CONTROL_DRY_RUN CONTROL_VERBOSE VLLM_STANDALONE_VLLM_LOAD_FORMAT
	VLLM_COMMON_VLLM_LOAD_FORMAT VLLM_STANDALONE_VLLM_LOGGING_LEVEL VLLM_COMMON_VLLM_LOGGING_LEVEL
	VLLM_STANDALONE_PREPROCESS RUN_DATASET_FILE HARNESS_STACK_ENDPOINT_URL DEPLOY_CURRENT_MODEL
	DEPLOY_CURRENT_TOKENIZER`)

// flags are the same command's long flags, by their names at 8bc9f1dd or with the same letter.
var flags = strings.Fields(`scenario namespace methods harness workload overrides experiments pvc skip debug model
	wait-timeout parallelism endpoint-url dataset serviceaccount workload-file-path`)

// TestEveryVariableIsListed: the users' pages list every variable and flag of llm-d-benchmark with its effect here,
// even if it has none.
func TestEveryVariableIsListed(t *testing.T) {
	var pages strings.Builder
	for _, name := range []string{"workload-contract.md", "nop.md", "dialects.md", "kube.md"} {
		text, err := os.ReadFile(root + "/docs/reference/" + name)
		require.NoError(t, err)
		pages.Write(text)
	}
	for _, name := range variables {
		require.Contains(t, pages.String(), "LLMDBENCH_"+name)
	}
	for _, name := range flags {
		require.Contains(t, pages.String(), "--"+name)
	}
}

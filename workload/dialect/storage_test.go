package dialect

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/mlperf-go/mlperf-go/workload/profile"
)

// TestStorage translates the bucket of inference-perf's results.
func TestStorage(t *testing.T) {
	const rest = "load: {stages: [{rate: 1, duration: 1}]}\nserver: {base_url: http://h:1, model_name: m}\n" +
		"data: {type: random}\nstorage: "
	for text, want := range map[string]*profile.Upload{
		"{local_storage: {path: x}}":                                               nil,
		"{google_cloud_storage: {bucket_name: runs, path: 'a/{timestamp}'}}":       {URL: "gs://runs/a"},
		"{google_cloud_storage: {bucket_name: runs, path: 'reports-{timestamp}'}}": {URL: "gs://runs/reports"},
		"{simple_storage_service: {bucket_name: runs}}":                            {URL: "s3://runs"},
		"{simple_storage_service: {bucket_name: runs, path: /p/, endpoint_url: 'https://e', region_name: r, " +
			"addressing_style: virtual}}": {URL: "s3://runs/p", Endpoint: "https://e", Region: "r", Addressing: "virtual"},
	} {
		p, err := Parse("inference-perf", "p.yaml", []byte(rest+text), Options{})
		require.NoError(t, err, text)
		require.Equal(t, want, p.Upload, text)
		noted := false
		for _, n := range p.Source.Notes {
			noted = noted || want != nil && n == "storage: --upload profile sends the results to "+want.URL+
				"; without it they stay in --output"
		}
		require.Equal(t, want != nil, noted, text)
	}
}

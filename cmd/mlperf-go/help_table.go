package main

import "slices"

// commandHelp is the beginning of a command's help.
type commandHelp struct {
	examples []example
	basic    []string // flags to describe if a command has too many; empty: all of its own
}

// example is a command line with its effect.
type example struct{ does, line string }

// helpTable maps the name of each command to its help. The examples name the files that README and the tutorials use.
var helpTable = map[string]commandHelp{
	"": {examples: []example{
		{"a first test against the simulator", "mlperf-go run --model llama3.1-8b"},
		{"test a server", "mlperf-go run --model llama3.1-8b --scenario Server --target-qps 10 --endpoint " +
			"http://127.0.0.1:8000 --dataset cnn_eval.json"},
	}},
	"run": {
		examples: []example{
			{"rehearse against the simulator with a synthetic data set",
				"mlperf-go run --model llama3.1-8b --scenario Offline"},
			{"test a server under a load of 10 queries per second",
				"mlperf-go run --model llama3.1-8b --scenario Server --target-qps 10 --endpoint http://127.0.0.1:8000 " +
					"--dataset cnn_eval.json --output-dir results/server"},
		},
		basic: []string{"model", "scenario", "mode", "endpoint", "backend", "dataset", "samples", "target-qps",
			"min-duration", "output-dir", "resume", "print-config"},
	},
	"submission": {
		examples: []example{
			{"rehearse a whole submission against the simulator in minutes",
				"mlperf-go submission --model llama3.1-8b --rehearsal-size tiny --output-dir rehearsal"},
			{"run, build, truncate and check a submission",
				"mlperf-go submission --model llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json " +
					"--target-qps 10 --system submission.yaml --output-dir campaign"},
		},
		basic: submissionBasics,
	},
	"submission run": {
		examples: []example{
			{"show the steps and how long they take",
				"mlperf-go submission run --model llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json " +
					"--target-qps 10 --output-dir campaign --dry-run"},
			{"continue after an interruption",
				"mlperf-go submission run --model llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json " +
					"--target-qps 10 --output-dir campaign --resume"},
		},
		basic: campaignBasics,
	},
	"submission status": {examples: []example{
		{"show the steps of a campaign", "mlperf-go submission status campaign"},
		{"the same for a script", "mlperf-go submission status campaign --json"},
	}},
	"submission init": {examples: []example{
		{"describe the system that this runs on", "mlperf-go submission init --submitter ExampleOrg"},
		{"write an empty description", "mlperf-go submission init --no-machine --output system.json"},
	}},
	"submission build": {examples: []example{
		{"build the tree of a campaign", "mlperf-go submission build campaign --system submission.yaml"},
		{"build the tree of a rehearsal elsewhere", "mlperf-go submission build rehearsal --rehearsal --output tree"},
	}},
	"submission truncate": {examples: []example{
		{"truncate the logs of a tree",
			"mlperf-go submission truncate tree --submitter ExampleOrg --backup originals"},
		{"leave one scenario alone", "mlperf-go submission truncate tree --submitter ExampleOrg --backup originals --skip " +
			"closed/ExampleOrg/results/system/llama3.1-8b/Offline"},
	}},
	"submission check": {
		examples: []example{
			{"check a tree by the rules of the newest round", "mlperf-go submission check tree"},
			{"report only what the official checker reports", "mlperf-go submission check tree --compat --csv summary.csv"},
		},
		basic: []string{"round", "compat", "only-known", "submitter", "csv"},
	},
	"submission pack": {examples: []example{
		{"pack a tree for upload", "mlperf-go submission pack tree --output upload"},
		{"encrypt it", "mlperf-go submission pack tree --output upload --password-file password.txt"},
	}},
	"compliance": {examples: []example{
		{"show which audits a benchmark needs", "mlperf-go compliance needs --model llama3.1-8b"},
		{"run an audit", "mlperf-go compliance run --test TEST06 --model llama3.1-8b"},
	}},
	"compliance run": {
		examples: []example{
			{"rehearse an audit against the simulator", "mlperf-go compliance run --test TEST06 --model llama3.1-8b"},
			{"audit a server", "mlperf-go compliance run --test TEST06 --model llama3.1-8b --scenario Server --target-qps " +
				"10 --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json --output-dir results/TEST06"},
		},
		basic: []string{"test", "model", "scenario", "endpoint", "backend", "dataset", "target-qps", "reference-accuracy",
			"reference-performance", "output-dir", "rehearsal-queries"},
	},
	"compliance verify": {
		examples: []example{
			{"verify the logs of TEST06",
				"mlperf-go compliance verify --test TEST06 --model llama3.1-8b --logs results/TEST06/mlperf"},
			{"compare an audit with the runs of the campaign",
				"mlperf-go compliance verify --test TEST01 --logs audit/mlperf --reference-accuracy accuracy/mlperf " +
					"--reference-performance performance/mlperf"},
		},
		basic: []string{"test", "logs", "model", "scenario", "reference-accuracy", "reference-performance", "output-dir"},
	},
	"compliance needs": {examples: []example{
		{"show the audits of all benchmarks and rounds", "mlperf-go compliance needs"},
		{"explain those of one benchmark", "mlperf-go compliance needs --model llama3.1-8b --round v6.1"},
	}},
	"accuracy": {
		examples: []example{
			{"score the answers of a run", "mlperf-go accuracy --log results/accuracy"},
			{"score a log that another program wrote", "mlperf-go accuracy --log mlperf_log_accuracy.json --model " +
				"llama3.1-8b --dataset cnn_eval.json --tokenizer tokenizer.json"},
		},
		basic: []string{"log", "model", "scenario", "round", "dataset", "tokenizer", "output-dir", "run-code", "code-tests"},
	},
	"preflight": {
		examples: []example{
			{"probe a server", "mlperf-go preflight --model llama3.1-8b --endpoint http://127.0.0.1:8000"},
			{"probe it as a Server test would", "mlperf-go preflight --model llama3.1-8b --scenario Server --endpoint " +
				"http://127.0.0.1:8000 --api completions"},
		},
		basic: []string{"model", "scenario", "endpoint", "backend", "api", "served-model", "api-key-file", "ca-file"},
	},
	"server": {examples: []example{
		{"start the servers of a file", "mlperf-go server up --server-config server.yaml"},
		{"show them", "mlperf-go server status --server-config server.yaml"},
	}},
	"server up": {examples: []example{
		{"start the servers of a file", "mlperf-go server up --server-config server.yaml"},
		{"serve a model with two GPUs per server", "mlperf-go server up --model-path /models/llama3.1-8b --backend vllm " +
			"--gpus-per-replica 2 -- --max-model-len 4096"},
	}},
	"server down": {examples: []example{
		{"stop the servers of a file", "mlperf-go server down --server-config server.yaml"},
		{"stop those of a folder", "mlperf-go server down --server-dir servers"},
	}},
	"server status": {examples: []example{
		{"show the servers of a file", "mlperf-go server status --server-config server.yaml"},
		{"report only by the exit code whether all are ready", "mlperf-go server status --server-dir servers --quiet"},
	}},
	"server plan": {examples: []example{
		{"show the commands that `server up` would start", "mlperf-go server plan --server-config server.yaml"},
		{"with four replicas", "mlperf-go server plan --server-config server.yaml --replicas 4"},
	}},
	"sim": {
		examples: []example{
			{"serve a data set's own answers", "mlperf-go sim --listen 127.0.0.1:8000 --dataset prompts.json"},
			{"cut one answer in a hundred", "mlperf-go sim --listen 127.0.0.1:8000 --dataset prompts.json --fault " +
				"cut_mid=0.01"},
		},
		basic: []string{"listen", "ready-file", "dialect", "model", "benchmark", "dataset", "answers", "ttft", "tpot",
			"prefill-rate", "max-num-seqs", "fault"},
	},
	"dataset": {examples: []example{
		{"make a small data set", "mlperf-go dataset synth --samples 512 --output prompts.json"},
		{"check a file", "mlperf-go dataset check cnn_eval.json --model llama3.1-8b"},
	}},
	"dataset info": {examples: []example{
		{"describe a file", "mlperf-go dataset info cnn_eval.json --model llama3.1-8b"},
		{"draw the lengths of its prompts", "mlperf-go dataset info cnn_eval.json --model llama3.1-8b --plot lengths.svg"},
	}},
	"dataset stats": {examples: []example{
		{"summarize lengths", "mlperf-go dataset stats cnn_eval.json --model llama3.1-8b"},
		{"draw them", "mlperf-go dataset stats cnn_eval.json --model llama3.1-8b --plot lengths.svg"},
	}},
	"dataset get": {examples: []example{
		{"compare a fetched file with the official one", "mlperf-go dataset get llama3.1-8b cnn_eval.json"},
		{"print the source of a public data set", "mlperf-go dataset get sharegpt"},
	}},
	"dataset check": {examples: []example{
		{"list the faults of a file", "mlperf-go dataset check cnn_eval.json --model llama3.1-8b"},
		{"name its columns", "mlperf-go dataset check mine.csv --model generic --input-column question"},
	}},
	"dataset convert": {examples: []example{
		{"make one Parquet file of two", "mlperf-go dataset convert part1.json part2.json all.parquet"},
		{"keep some rows", "mlperf-go dataset convert all.parquet some.jsonl --ids ids.txt"},
	}},
	"dataset synth": {examples: []example{
		{"make a set of 512 rows", "mlperf-go dataset synth --samples 512 --output prompts.json"},
		{"make one for another benchmark", "mlperf-go dataset synth --model gpt-oss-120b --samples 64 --output gpt.json"},
	}},
	"experiment": {examples: []example{
		{"compare ways to send the samples of an Offline test", "mlperf-go experiment offline-batching --model " +
			"llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json --samples 2000"},
		{"compare ways to divide samples among replicas", "mlperf-go experiment partition --model llama3.1-8b " +
			"--endpoint http://127.0.0.1:8000 --endpoint http://127.0.0.1:8001 --dataset cnn_eval.json --samples 2000"},
	}},
	"experiment offline-batching": {
		examples: []example{
			{"compare three windows and one batch size with all at once", "mlperf-go experiment offline-batching --model " +
				"llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json --samples 2000 --windows 64,128,256 " +
				"--batches 256"},
			{"repeat it more often, and continue after an interruption", "mlperf-go experiment offline-batching --model " +
				"llama3.1-8b --endpoint http://127.0.0.1:8000 --dataset cnn_eval.json --samples 2000 --repeats 10 " +
				"--output-dir batching --resume"},
		},
		basic: []string{"model", "endpoint", "dataset", "samples", "windows", "batches", "repeats", "output-dir", "resume"},
	},
	"experiment partition": {
		examples: []example{
			{"compare how to divide the samples among two replicas", "mlperf-go experiment partition --model llama3.1-8b " +
				"--endpoint http://127.0.0.1:8000 --endpoint http://127.0.0.1:8001 --dataset cnn_eval.json --samples 2000"},
			{"keep 64 requests in flight at each replica", "mlperf-go experiment partition --model llama3.1-8b --endpoint " +
				"http://127.0.0.1:8000 --endpoint http://127.0.0.1:8001 --dataset cnn_eval.json --samples 2000 --window 64"},
		},
		basic: []string{"model", "endpoint", "dataset", "samples", "window", "repeats", "output-dir", "resume"},
	},
	"sweep": {
		examples: []example{
			{"measure latency against load until the server is saturated", "mlperf-go sweep --model llama3.1-8b --endpoint " +
				"http://127.0.0.1:8000 --dataset cnn_eval.json --accelerators 8"},
			{"measure given rates, and continue after an interruption", "mlperf-go sweep --model llama3.1-8b --endpoint " +
				"http://127.0.0.1:8000 --dataset cnn_eval.json --rates 5:50:5 --output-dir sweep --resume"},
		},
		basic: []string{"model", "scenario", "endpoint", "dataset", "rates", "concurrencies", "point-duration",
			"point-queries", "accelerators", "output-dir", "resume", "dry-run"},
	},
	"tune": {
		examples: []example{
			{"find the highest valid load of a server", "mlperf-go tune --model llama3.1-8b --scenario Server --endpoint " +
				"http://127.0.0.1:8000 --dataset cnn_eval.json --output-dir tune"},
			{"continue with an hour more", "mlperf-go tune --model llama3.1-8b --scenario Server --endpoint " +
				"http://127.0.0.1:8000 --dataset cnn_eval.json --output-dir tune --resume --budget 1h"},
		},
		basic: []string{"model", "scenario", "endpoint", "dataset", "budget", "output-dir", "resume"},
	},
	"show": {examples: []example{
		{"print a result again", "mlperf-go show results/server"},
		{"add statistics of the answers", "mlperf-go show results/server --answers"},
	}},
	"compare": {examples: []example{
		{"compare a run with an earlier one", "mlperf-go compare results/server results/server-2"},
		{"fail a build if something got worse by more than 2 %",
			"mlperf-go compare results/server results/server-2 --gate --gate-threshold 0.02"},
	}},
	"report": {examples: []example{
		{"write report.html into the folder of a run", "mlperf-go report results/server"},
		{"put several runs on one page", "mlperf-go report --output r.html results/a results/b"},
	}},
	"bench": {examples: []example{
		{"send a predefined workload", "mlperf-go bench run -w chatbot_synthetic -U http://127.0.0.1:8000"},
		{"write a run as vllm bench would", "mlperf-go bench convert results/server --format vllm"},
	}},
	"bench upload": {examples: []example{
		{"send a run to S3, or send it again", "mlperf-go bench upload results/server s3://runs/team-a"},
		{"send two runs to Google Cloud Storage", "mlperf-go bench upload results/a results/b gs://runs"},
	}},
	"bench e2e": {
		examples: []example{
			{"start servers, run a workload, and stop them", "mlperf-go bench e2e -w chatbot_synthetic --server-config " +
				"server.yaml --output chat"},
			{"try a profile against the simulator", "mlperf-go bench e2e -w chatbot_synthetic --rehearse"},
		},
		basic: []string{"workload", "harness", "server-config", "model", "overrides", "slo", "format", "output", "force"},
	},
	"bench run": {
		examples: []example{
			{"send a predefined workload", "mlperf-go bench run -l inference-perf -w chatbot_synthetic -U " +
				"http://127.0.0.1:8000 --output chat"},
			{"send one of your own, and count the answers within limits", "mlperf-go bench run -w chat.yaml -U " +
				"http://127.0.0.1:8000 --slo 'ttft:p99<500ms,tpot:p95<40ms'"},
		},
		basic: []string{"workload", "harness", "endpoint-url", "model", "overrides", "slo", "output", "force"},
	},
	"bench search": {examples: []example{
		{"find the highest rate with a 99th percentile of the first token below 0.5 s",
			"mlperf-go bench search -w chat.yaml --endpoint-url http://127.0.0.1:8000 --slo 'ttft:p99<500ms' --output found"},
		{"continue that search", "mlperf-go bench search -w chat.yaml --endpoint-url http://127.0.0.1:8000 " +
			"--slo 'ttft:p99<500ms' --output found --resume"},
	}, basic: []string{"workload", "endpoint-url", "slo", "from", "to", "probe-duration", "confirm-duration", "budget",
		"output", "resume"}},
	"bench plan": {examples: []example{
		{"print the schedule and the tokens of a workload", "mlperf-go bench plan -w chat.yaml"},
		{"print them with another rate", "mlperf-go bench plan -w chat.yaml -o load.stages.0.rate=4"},
	}},
	"bench list": {examples: []example{
		{"list the predefined profiles", "mlperf-go bench list"},
		{"list those of one tool", "mlperf-go bench list -l guidellm"},
	}},
	"bench init": {examples: []example{
		{"copy a predefined profile, to change it", "mlperf-go bench init -w chatbot_synthetic --output chat.yaml"},
		{"translate another tool's file", "mlperf-go bench init -l guidellm -w scenario.yaml --output chat.yaml"},
	}},
	"calibrate": {examples: []example{
		{"measure what this machine's client can hold, and keep it for later runs", "mlperf-go calibrate"},
		{"measure it in 5 s, into a file", "mlperf-go calibrate --duration 5s --calibration calibration.json"},
	}},
	"nop": {examples: []example{
		{"report how long vLLM's start took", "mlperf-go nop vllm.log"},
		{"write the report as files", "mlperf-go nop vllm.log --output start"},
	}},
	"kube": {examples: []example{
		{"list the launcher's commands", "mlperf-go kube help"},
		{"print the rights that the launcher needs", "mlperf-go kube rights"},
	}},
	"bench convert": {examples: []example{
		{"write a run as vllm bench would", "mlperf-go bench convert results/server --format vllm"},
		{"write guidellm's JSON and CSV elsewhere",
			"mlperf-go bench convert results/server --format guidellm --output guidellm-files"},
	}},
	"metrics": {examples: []example{
		{"record a server's metrics page", "mlperf-go metrics collect --metrics-url http://127.0.0.1:8000/metrics"},
		{"summarize what was recorded", "mlperf-go metrics summary metrics.jsonl.zst"},
	}},
	"metrics collect": {examples: []example{
		{"record until Ctrl-C", "mlperf-go metrics collect --metrics-url http://127.0.0.1:8000/metrics"},
		{"record a minute", "mlperf-go metrics collect --metrics-url http://127.0.0.1:8000/metrics --duration 60s"},
	}},
	"metrics summary": {examples: []example{
		{"summarize a recording", "mlperf-go metrics summary metrics.jsonl.zst"},
		{"the same for a script", "mlperf-go metrics summary metrics.jsonl.zst --json"},
	}},
	"metrics plot": {examples: []example{
		{"draw every signal", "mlperf-go metrics plot metrics.jsonl.zst"},
		{"draw a bitmap", "mlperf-go metrics plot metrics.jsonl.zst --output metrics.png"},
	}},
	"metrics upload": {examples: []example{
		{"send the newest run of a test", "mlperf-go metrics upload results/server/latest --mlflow " +
			"http://127.0.0.1:5000"},
		{"send spans and metrics to a collector", "mlperf-go metrics upload results/server/latest --otlp " +
			"http://127.0.0.1:4318"},
	}},
	"metrics export": {examples: []example{
		{"write CSV", "mlperf-go metrics export metrics.jsonl.zst --output metrics.csv"},
		{"write JSON", "mlperf-go metrics export metrics.jsonl.zst --format json"},
	}},
	"models": {examples: []example{
		{"list the benchmarks", "mlperf-go models"},
		{"show limits, sampling and targets of one", "mlperf-go models llama3.1-8b"},
	}},
	"version": {examples: []example{
		{"print versions", "mlperf-go version"}, {"the same for a script", "mlperf-go version --json"},
	}},
	"completion": {examples: []example{
		{"complete commands in this bash", "source <(mlperf-go completion bash)"},
		{"complete them in this fish", "mlperf-go completion fish | source"},
	}},
	"help": {examples: []example{
		{"list the commands", "mlperf-go help"}, {"describe one", "mlperf-go help submission run"},
	}},
}

// submissionBasics are the basic flags of `submission`, without those that select or only print steps, which it
// rejects.
var submissionBasics = []string{"model", "endpoint", "dataset", "target-qps", "system", "submitter", "rehearsal-size",
	"set", "output-dir", "resume"}

// campaignBasics are the basic flags of a campaign.
var campaignBasics = append(slices.Clone(submissionBasics), "only", "dry-run")

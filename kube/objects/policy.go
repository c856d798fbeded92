package objects

import (
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

// Exit codes of a command that a signal ended: SIGKILL, also for lack of memory, and SIGTERM of a node that shuts down.
const (
	killed     = 137
	terminated = 143
)

// failurePolicy defines which pods of a job with further attempts get a successor. A pod that is lost by eviction, by
// preemption or with its node costs no attempt, a killed command costs one, and a command that ended by itself is
// final. With this policy the API server starts a successor only after the end of its predecessor, so that two pods
// never write to one claim.
func failurePolicy() *batchv1.PodFailurePolicy {
	container := Container
	return &batchv1.PodFailurePolicy{Rules: []batchv1.PodFailurePolicyRule{
		{Action: batchv1.PodFailurePolicyActionIgnore, OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{
			{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}}},
		{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			ContainerName: &container, Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn,
			Values: []int32{killed, terminated}}}}}
}

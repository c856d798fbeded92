package testcluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Provision makes a volume for every pending claim: a folder, which is a tmpfs of the claim's size where the
// test runs as root, so that a claim can be filled. It works until the test ends, or the shared control plane.
func (c *Cluster) Provision() {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	var mounted []string
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			mounted = append(mounted, c.provisionAll(ctx)...)
			select {
			case <-ctx.Done():
			case <-time.After(300 * time.Millisecond):
			}
		}
	}()
	c.atEnd(func() {
		stop()
		<-done
		for _, dir := range mounted {
			unix.Unmount(dir, unix.MNT_DETACH)
		}
	})
}

func (c *Cluster) provisionAll(ctx context.Context) (mounted []string) {
	claims, err := c.admin.CoreV1().PersistentVolumeClaims("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	for i := range claims.Items {
		claim := &claims.Items[i]
		if claim.Status.Phase != corev1.ClaimPending || claim.Spec.VolumeName != "" {
			continue
		}
		name := "pv-" + string(claim.UID)
		dir := filepath.Join(c.dir, name)
		if os.Mkdir(dir, 0o777) != nil {
			continue // it has a volume already
		}
		size := claim.Spec.Resources.Requests[corev1.ResourceStorage]
		if os.Getuid() == 0 && unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0777", size.Value())) == nil {
			mounted = append(mounted, dir)
		}
		os.Chmod(dir, 0o777)
		c.admin.CoreV1().PersistentVolumes().Create(ctx, volumeFor(claim, name, dir), metav1.CreateOptions{})
	}
	return mounted
}

func volumeFor(claim *corev1.PersistentVolumeClaim, name, dir string) *corev1.PersistentVolume {
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}}
	volume.Spec = corev1.PersistentVolumeSpec{AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		ClaimRef:                      &corev1.ObjectReference{Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID},
		PersistentVolumeSource:        corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: dir}}}
	if claim.Spec.StorageClassName != nil {
		volume.Spec.StorageClassName = *claim.Spec.StorageClassName
	}
	return volume
}

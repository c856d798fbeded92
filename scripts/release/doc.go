// Package main makes and judges the files of a release for scripts/release.sh:
//
//	release changelog VERSION                    the commits since the tag before, as Markdown
//	release check BINARY                         fails unless the program runs wherever a release must
//	release sbom VERSION MODULES.json GCC        the program's modules, and the C++ libraries inside it
//	release rootfs BINARY COMPILER DIR           the files of the image, the C library of COMPILER included
//	release image VERSION DIR ARCH=ROOTFS...     the image, as an OCI layout
//
// The same input always makes the same bytes: times come from SOURCE_DATE_EPOCH. It imports no package of the project.
package main

package launch

import "k8s.io/apimachinery/pkg/api/resource"

func mustParse(text string) resource.Quantity { return resource.MustParse(text) }

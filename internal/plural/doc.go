// Package plural writes counts in messages: "1 answer", "2 answers".
//
//	plural.Count(n, "query", "queries")          // 1 query, 7 queries
//	plural.Count(n, "answer is", "answers are")  // the verb follows the number too
//	plural.Word(n, "was", "were")                // the word alone
//
// It must not import any package of this module.
package plural

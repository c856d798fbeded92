// Package plural writes counts and figures in messages: "1 answer", "2 answers", "38521 tokens/s".
//
//	plural.Count(n, "query", "queries")          // 1 query, 7 queries
//	plural.Count(n, "answer is", "answers are")  // the verb follows the number too
//	plural.Word(n, "was", "were")                // the word alone
//	plural.Figure(38521.19)                      // 38521; never 3.852e+04
//
// It must not import any package of this module.
package plural

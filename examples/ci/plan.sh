#!/bin/sh
# Writes to plan.md what apply would change. Ends with 0: nothing; 3: something would change; otherwise it failed.
status=0
token-server apply applications.yaml --server "$TOKEN_SERVER_URL" --prune managed-by=repository --dry-run \
  > plan.txt 2>&1 || status=$?
case $status in
  0) title='Nothing would change' ;;
  2) title='This would change' status=3 ;;
  *) title='The plan failed' ;;
esac
# Indented, because a name could end a fence. GitHub refuses a comment of more than 65,536 characters.
{ printf '**token-server: %s**\n\n' "$title" && sed 's/^/    /' plan.txt | head -c 60000; } > plan.md
cat plan.txt
exit $status

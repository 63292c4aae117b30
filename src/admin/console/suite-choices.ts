/** How many suites a form offers as checkboxes, at most. */
export const MAX_CHOICES = 200

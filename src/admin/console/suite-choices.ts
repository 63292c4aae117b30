/** So many suites can be ticked on a page. */
export const MAX_CHOICES = 200

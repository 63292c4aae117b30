// That the store has moved to another one.

export const findMove = `
  SELECT place, began_at AS beganAt, copied_at AS copiedAt FROM moved`

export const beginMove = `
  INSERT INTO moved (place, began_at) VALUES (?, ?)`

export const completeMove = `
  UPDATE moved SET copied_at = ? WHERE place = ? AND began_at = ?`

export const abandonMove = `
  DELETE FROM moved WHERE place = ? AND began_at = ?`

export const forgetMove = `
  DELETE FROM moved`

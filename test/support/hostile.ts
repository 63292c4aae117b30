/** Names that must not break a page: very long, without spaces, right-to-left, in various scripts, and markup. */
export const HOSTILE_NAMES = [
  'Warenwirtschaftssystemschnittstellenverwaltungsdienstprogramm'.repeat(3),
  'متجر الشحن والتسليم السريع للمدن الكبيرة',
  'בדיקת מלאי אוטומטית',
  '倉庫管理システム連携アプリケーション本番環境用第二号機',
  '가격 비교 서비스',
  'ราคาสินค้าเปรียบเทียบ',
  'Ελληνικό κατάστημα & Σία',
  'Склад №7 «Север»',
  '👩‍👩‍👧‍👦 Family 🏳️‍🌈 shop 🇺🇳',
  'Z̸̡̛a̶̢͝l̵̰̈́g̷̱̈o̴͙͒ store',
  `<img src=x onerror="document.title='run'">`,
  `"><script>document.title='run'</script>`,
  `'-alert(1)-' \${7*7} {{7*7}} </title><svg onload=document.title='run'>`,
  'javascript:document.title="run"',
  'a',
]

import './stack-traces.ts'
import '../../../src/main.ts'

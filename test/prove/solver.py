"""The solver that halmos calls for each question: yices, which is quick, then cvc5, which can divide.

usage: solver.py FILE.smt2

yices alone times out on divisions of 256 bits; cvc5 solves them as integers in a fraction of a second.
"""

import os
import resource
import subprocess
import sys

# Of the processor, not of the clock: a loaded machine must not turn a quick answer into a slow one.
YICES_SECONDS = 3

question = sys.argv[-1]
yices = os.path.join(os.path.dirname(sys.executable), "yices-smt2")


def limit_processor_time():
    resource.setrlimit(resource.RLIMIT_CPU, (YICES_SECONDS, YICES_SECONDS))


def ask_yices():
    command = [yices, "--smt2-model-format", "--bvconst-in-decimal", question]
    answer = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit_processor_time).stdout
    return answer if answer.startswith(("sat", "unsat")) else None


def ask_cvc5():
    import cvc5

    solver = cvc5.Solver(cvc5.TermManager())
    solver.setOption("produce-models", "true")
    solver.setOption("solve-bv-as-int", "iand")
    parser = cvc5.InputParser(solver)
    parser.setFileInput(cvc5.InputLanguage.SMT_LIB_2_6, question)
    symbols = parser.getSymbolManager()
    answers = []
    while not (command := parser.nextCommand()).isNull():
        answers.append(command.invoke(solver, symbols))
    return "".join(answers)


print(ask_yices() or ask_cvc5())

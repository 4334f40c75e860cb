"""What measures Talekeeper: speed, memory and prompt-prefix reuse, each against its target.

Run all with ``python -m benchmarks``; ``--help`` tells the rest. Nothing here is installed with the
package, and nothing is written outside of a temporary folder.
"""

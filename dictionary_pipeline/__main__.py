"""`python -m dictionary_pipeline` is the `data_dictionary` command."""

from dictionary_pipeline.cli import main

if __name__ == "__main__":
    main()

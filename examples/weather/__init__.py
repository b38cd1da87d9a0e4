"""The weather application: wind, heat, fires and blizzards."""
